//! TLS for real: a server of another program with a certificate made for the test. Whether its maker is trusted is a
//! matter of the environment, so the client runs in a process of its own.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use bytes::Bytes;
use futures::StreamExt;
use omniroute_core::HttpTransport;
use omniroute_providers::transport::{ReqwestOptions, ReqwestTransport, Via};

const SERVER: &str = r#"
import socket, ssl, sys
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1] + "/cert.pem", sys.argv[1] + "/key.pem")
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    plain, _ = listener.accept()
    try:
        with context.wrap_socket(plain, server_side=True) as line:
            line.recv(65536)
            line.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\nconnection: close\r\n\r\nsealed")
    except OSError:
        pass
"#;

/// Ends with the test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn certificate(folder: &Path) -> Option<()> {
    let status = Command::new("openssl")
        .current_dir(folder)
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-days",
            "2",
        ])
        .args(["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE", "-keyout", "key.pem", "-out", "cert.pem"])
        .stderr(Stdio::null())
        .status();
    status.ok().filter(std::process::ExitStatus::success).map(|_| ())
}

/// Told to the client's process: whom it asks.
const URL: &str = "OMNIROUTE_TLS_URL";

#[test]
fn certificates_are_checked() {
    if let Ok(url) = std::env::var(URL) {
        return client(&url);
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tls");
    std::fs::create_dir_all(&folder).unwrap();
    let start =
        || Command::new("python3").arg("-c").arg(SERVER).arg(&folder).stdout(Stdio::piped()).spawn().ok();
    let Some(child) = certificate(&folder).and_then(|()| start()) else {
        assert!(std::env::var_os("CI").is_none(), "needs openssl and python3");
        println!("1 test skipped: needs openssl and python3");
        return;
    };
    let mut server = Server(child);
    let mut port = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut port).unwrap();
    let ask = |trusted: bool, host: &str| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "tls::certificates_are_checked", "--nocapture"]);
        command.env(URL, format!("https://{host}:{}/", port.trim()));
        if trusted {
            command.env("SSL_CERT_FILE", folder.join("cert.pem"));
        }
        String::from_utf8_lossy(&command.output().unwrap().stdout).into_owned()
    };
    let good = ask(true, "localhost");
    assert!(good.contains("answer sealed"), "{good}");
    // A maker whom nobody knows; a name that is another one's.
    for bad in [ask(false, "localhost"), ask(true, "127.0.0.1")] {
        assert!(bad.contains("phase tls") && !bad.contains("answer sealed"), "{bad}");
    }
}

/// The client's half.
fn client(url: &str) {
    let mut options = ReqwestOptions::default();
    options.via = Via::Direct;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let transport = match ReqwestTransport::with(options) {
            Ok(transport) => transport,
            Err(error) => return println!("phase {}: {error}", error.phase),
        };
        match transport.send(http::Request::get(url).body(Bytes::new()).unwrap()).await {
            Ok(response) => {
                let body: Vec<Bytes> = response.into_body().map(Result::unwrap).collect().await;
                println!("answer {}", String::from_utf8_lossy(&body.concat()));
            }
            Err(error) => println!("phase {}: {error}", error.phase),
        }
    });
}

//! What a request probably costs at a candidate.

use omniroute_core::route::{Billing, Columns, Pool, RequestFacts};

/// USD of this request at a candidate; NaN if a price is unknown. Subscriptions and free offers cost what one more call
/// costs: nothing.
#[expect(clippy::cast_precision_loss, reason = "an estimate")]
pub(crate) fn estimate(request: &RequestFacts, pool: &Pool, columns: &Columns, index: usize) -> f32 {
    if pool.entries()[index].billing != Billing::Metered {
        return 0.0;
    }
    let (price_in, price_out) = (columns.price_in[index], columns.price_out[index]);
    let cached = request.cached_tokens.min(request.input_tokens);
    let price_cache =
        if columns.price_cache[index].is_finite() { columns.price_cache[index] } else { price_in };
    let fresh = (request.input_tokens - cached) as f64;
    let sum = fresh * f64::from(price_in)
        + cached as f64 * f64::from(price_cache)
        + request.output_tokens() as f64 * f64::from(price_out);
    #[expect(clippy::cast_possible_truncation, reason = "an estimate")]
    let usd = (sum / 1e6) as f32;
    if usd >= 0.0 { usd } else { f32::NAN }
}

//! Who is refused most at this moment, in memory that no flood can grow.
//!
//! The space-saving sketch of Metwally, Agrawal and El Abbadi ("Efficient computation of frequent and top-k elements in
//! data streams", 2005): with all places taken, a newcomer takes the place of the least, and inherits its number as
//! its possible error. Must never cost a refusal more than a try at a lock.

use std::sync::Arc;

use parking_lot::Mutex;
use prometheus_client::metrics::counter::Counter;
use zonai_limit::{Client, Operation, Refusal};

/// How many are told apart.
const PLACES: usize = 64;

/// The sketch.
#[derive(Debug, Default)]
pub(crate) struct Top {
    places: Mutex<Vec<Place>>,
}

/// One client that is refused at one counter.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) client: Client,
    pub(crate) collection: Arc<str>,
    pub(crate) operation: Operation,
    /// Refusals seen, at most `error` too many.
    pub(crate) refused: u64,
    pub(crate) error: u64,
    /// The metric of the place's bucket and operation: found once, not with each refusal.
    metric: Counter,
}

impl Top {
    /// Notes a refusal, and counts it in its metric, which `metric` finds. Where another thread notes one at this moment
    /// it is left out of the sketch, which is a sample, but not of the metric.
    pub(crate) fn note(&self, client: Client, refusal: &Refusal, metric: impl Fn() -> Counter) {
        let Some(mut places) = self.places.try_lock() else {
            metric().inc();
            return;
        };
        let mut least = 0;
        let mut fewest = u64::MAX;
        for (index, place) in places.iter_mut().enumerate() {
            if place.client == client
                && place.operation == refusal.operation
                && place.collection == refusal.collection
            {
                place.refused += 1;
                place.metric.inc();
                return;
            }
            if place.refused < fewest {
                (least, fewest) = (index, place.refused);
            }
        }
        let error = if places.len() < PLACES { 0 } else { fewest };
        let place = Place {
            client,
            collection: Arc::clone(&refusal.collection),
            operation: refusal.operation,
            refused: error + 1,
            error,
            metric: metric(),
        };
        place.metric.inc();
        if places.len() < PLACES {
            places.push(place);
        } else if let Some(slot) = places.get_mut(least) {
            *slot = place;
        }
    }

    /// Halves every number and drops what is none: called now and then, so that what was is forgotten.
    pub(crate) fn fade(&self) {
        let mut places = self.places.lock();
        for place in places.iter_mut() {
            place.refused /= 2;
            place.error /= 2;
        }
        places.retain(|place| place.refused > 0);
    }

    /// The places, the most refused first.
    pub(crate) fn list(&self) -> Vec<Place> {
        let mut places = self.places.lock().clone();
        places.sort_by_key(|place| std::cmp::Reverse(place.refused));
        places
    }
}

//! Faults planted at the model's edge, so that the model is seen to find them.

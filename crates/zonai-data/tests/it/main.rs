//! Behaviour of the data layer, from outside.

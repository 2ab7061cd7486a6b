//! Behaviour of the search for the client.

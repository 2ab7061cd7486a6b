//! Behaviour of the PROXY protocol parser.

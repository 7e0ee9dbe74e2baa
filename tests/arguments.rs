
//! Reading the arguments of a call.

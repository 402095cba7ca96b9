// Package auth signs in to Keystone. A Session adds its token to every request, renews it before it
// expires and when a service refuses it, and finds the services in the catalog.
//
// # Tokens
//
// All requests use one token, which is renewed in the background before it expires, and when a service
// rejects it. A failed sign-in is remembered for the whole process: all requests get its error until the
// next attempt, after 1 s to 60 s, immediately 60 s if Keystone itself rejects the credentials, or after
// Retry-After. A young token that a service rejects is replaced at most twice, so that a
// service that accepts no token does not make Keystone issue one for every request. The second replacement
// is for a token that was issued in the same second as a revocation. Rejected credentials are read again
// from the configuration at every attempt, and /readyz fails meanwhile; those of another project are never used.
//
// The expiry of a password is in each token, that of an application credential is read once (Expiry).
// Package reload announces both.
package auth

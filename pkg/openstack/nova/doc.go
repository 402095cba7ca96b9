// Package nova is a typed client of the compute API.
//
// No list proves that a server is gone: servers in a failed Nova cell are missing from lists. Only Nova's
// own 404 for the ID does, twice in a row. Nor does a single 404 prove the deletion of an object that would
// not be searched again: it is read.
package nova

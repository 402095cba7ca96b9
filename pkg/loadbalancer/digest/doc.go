// Package digest hashes the desired state of a Service, so that this process and, from the record,
// the next one can compare two states without the load balancer. It is pure.
//
// The digest includes the identity of cluster and Service.
package digest

// Package observe reads a Service's load balancer and its parts from the cloud. It never writes. A
// failed read is an error, never "not found".
//
// adopt.go has the table of proofs by which a load balancer of cloud-provider-openstack is adopted.
//
// Settings of members (mainly weights) are read whenever everything is read; before Octavia 16.0, those of
// one member of each pool. Members that another client has taken out of service (weight 0, disabled) must
// be known before a batch, which would re-enable them. So they are read for all members, also when a check
// finds that updated_at has changed and no setting (inservice.go), but not when it confirms our own change.
package observe

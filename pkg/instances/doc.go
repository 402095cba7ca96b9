// Package instances describes the Nova servers of nodes to Kubernetes: whether they
// exist, whether they are shut down, and their addresses, flavor, zone and region. It
// implements cloudprovider.InstancesV2.
//
// find has the table of proofs by which a Node gets its server. A fleet has the servers of a region: it
// distinguishes the rounds of the node lifecycle controller from those of the node controller by repeated
// Nodes, and lists all servers once for a round with many Nodes. The list proves that a server exists,
// never that it is gone.
//
// Deletions decide last, after Nova's 404 and after cluster.Guard, whether the Node is deleted. They
// compare all Nodes of a region with its list, which shows a wrong place with the first Node; a rate would
// show it after some are lost.
package instances

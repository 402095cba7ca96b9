// Package ownership names the load balancer of a Service, returns the owner of a load balancer,
// listener, pool or floating IP, and chooses between several load balancers of a Service. It is
// pure: observe reads its inputs.
//
// The names, descriptions and the first tag are those of kubernetes/cloud-provider-openstack,
// because other programs find load balancers by them (Magnum deletes a cluster's load balancers and
// floating IPs by their description). The proof of ownership is added to them: the UIDs of the
// cluster and of the Service.
//
// # Identity
//
// Every object that the controller creates carries the UID of the namespace kube-system and the UID of the
// Service: as tags (kube_cluster_id_…, kube_svc_uid_…) beside those of cloud-provider-openstack, or in the
// description of objects that cannot be created with tags (floating IPs; Octavia before 4.0). Names are
// never changed. Tags that begin with kube_ are reserved.
//
// A load balancer of cloud-provider-openstack is adopted, without a write, on a proof from our own cluster:
// the Service's annotation load-balancer-id, or its published address. A host name proves nothing, because
// the author of the Service chooses it; nor does any other field of the Service. A VIP only proves
// ownership in a subnet of our nodes, or where cloud.conf puts load balancers (Place), and only if no other
// load balancer of the name has it there. Otherwise the Service is refused, with the remedy. With another
// --cluster-name the address is required: the ID alone could belong to another cluster's Service of the
// same name.
package ownership

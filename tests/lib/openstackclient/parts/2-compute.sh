# Servers and flavors.
says node-1 server list
says node-2 server list --name node-2 -c Name -f value
is ACTIVE server show node-1 -c status
says k8s-net server show node-1 -c addresses -f value
says k8s.small flavor list
is 2 flavor show k8s.small -c vcpus
says nova availability zone list --compute
ok keypair list
ok server group list
ok limits show --absolute
refused "No server" server show node-9

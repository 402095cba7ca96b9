# A load balancer that is made and deleted with everything below it, with a floating IP in front.
id subnet subnet show k8s-net-subnet
column id token token issue
cat >"$work/whole.json" <<JSON
{"loadbalancer": {"name": "whole", "vip_subnet_id": "$subnet", "listeners": [{
	"name": "whole-http", "protocol": "TCP", "protocol_port": 80, "default_pool": {
		"name": "whole-nodes", "protocol": "TCP", "lb_algorithm": "ROUND_ROBIN",
		"members": [{"address": "127.100.0.60", "protocol_port": 30080}],
		"healthmonitor": {"type": "TCP", "delay": 5, "timeout": 3, "max_retries": 2}
	}}]}}
JSON
output=$(curl -s -f -X POST -H "X-Auth-Token: $token" -H "Content-Type: application/json" \
	-d @"$work/whole.json" "$url/load-balancer/v2.0/lbaas/loadbalancers" 2>&1)
step "create a whole load balancer in one request" $?
settle whole
is ACTIVE loadbalancer show whole -c provisioning_status
says whole-nodes loadbalancer status show whole
says 127.100.0.60 loadbalancer member list whole-nodes
column vip_port_id vip loadbalancer show whole
id whole floating ip create --port "$vip" public
is "$vip" floating ip show "$whole" -c port_id
ok loadbalancer delete --cascade --wait whole
is None floating ip show "$whole" -c port_id
ok floating ip delete "$whole"

ok loadbalancer create --name given --vip-network-id k8s-net --provider ovn --wait
is ovn loadbalancer show given -c provider
refused "does not support" loadbalancer listener create --protocol HTTP --protocol-port 80 given
ok loadbalancer listener create --name udp --protocol UDP --protocol-port 53 --wait given
ok loadbalancer delete --cascade --wait given

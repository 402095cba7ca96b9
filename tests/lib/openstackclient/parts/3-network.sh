# Networks, ports, floating IPs, security groups, address groups, routers and quotas.
says k8s-net network list
says public network list --external
is k8s-net network show k8s-net -c name
says k8s-net-subnet subnet list
is 127.100.0.0/16 subnet show k8s-net-subnet -c cidr
says k8s-net-router router list
ok router show k8s-net-router
ok extension list --network
ok network agent list
says security-group extension show security-group

id port port create --network k8s-net --description "first" probe
is "$port" port show probe -c id
ok port set --name probe-2 --description "second" --no-security-group "$port"
is second port show probe-2 -c description
ok port set --tag red probe-2
says probe-2 port list --tags red
says probe-2 port list --network k8s-net -c Name -f value
refused "No Network found" port create --network nowhere bad

id fip floating ip create --description "of a test" public
is "of a test" floating ip show "$fip" -c description
ok floating ip set --port probe-2 "$fip"
is "$port" floating ip show "$fip" -c port_id
says "$fip" floating ip list --port "$port" -c ID -f value
ok floating ip unset --port "$fip"
ok floating ip set --description "changed" --tag blue "$fip"
says "$fip" floating ip list --tags blue -c ID -f value
ok floating ip delete "$fip"
refused "No FloatingIP found" floating ip show "$fip"

ok security group create --description "web servers" web
id rule security group rule create --protocol tcp --dst-port 80:81 --remote-ip 10.0.0.0/8 web
is 80 security group rule show "$rule" -c port_range_min
says "80:81" security group rule list web
refused "already exists" security group rule create --protocol tcp --dst-port 80:81 --remote-ip 10.0.0.0/8 web
ok security group set --description "all servers" web
is "all servers" security group show web -c description
ok port set --security-group web probe-2
refused "in use" security group delete web
ok security group rule delete "$rule"

ok address group create --address 192.0.2.0/24 allowed
ok address group set --address 198.51.100.1/32 allowed
says 198.51.100.1/32 address group show allowed -c addresses -f value
ok security group rule create --protocol tcp --dst-port 443 --remote-address-group allowed web
ok address group unset --address 192.0.2.0/24 allowed
says allowed address group list

ok router set --route destination=10.99.0.0/24,gateway=127.100.0.9 k8s-net-router
says 10.99.0.0/24 router show k8s-net-router -c routes -f value
ok router unset --route destination=10.99.0.0/24,gateway=127.100.0.9 k8s-net-router
ok router add route --route destination=10.98.0.0/24,gateway=127.100.0.9 k8s-net-router
ok router remove route --route destination=10.98.0.0/24,gateway=127.100.0.9 k8s-net-router

ok port delete probe-2
ok security group delete web
ok address group delete allowed
ok quota show
refused "not authorized" quota list --network --detail
ok network qos policy list
ok subnet pool list
ok network trunk list

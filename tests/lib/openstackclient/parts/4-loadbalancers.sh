# Load balancers and what is below them, one by one.
says amphora loadbalancer provider list
ok loadbalancer flavor list
ok loadbalancer availabilityzone list
ok loadbalancer quota show "$project"
refused "Policy does not allow" loadbalancer quota defaults show

ok loadbalancer create --name web --vip-subnet-id k8s-net-subnet --tag red --wait
is ACTIVE loadbalancer show web -c provisioning_status
says web loadbalancer list --tags red -c name -f value
id lb loadbalancer show web
ok loadbalancer set --name web --description "changed" --wait web
is changed loadbalancer show web -c description
ok loadbalancer status show web
ok loadbalancer stats show web

ok loadbalancer listener create --name http --protocol TCP --protocol-port 80 --allowed-cidr 10.0.0.0/8 --wait web
is 10.0.0.0/8 loadbalancer listener show http -c allowed_cidrs
says http loadbalancer listener list --loadbalancer web -c name -f value
ok loadbalancer listener set --connection-limit 100 --timeout-client-data 60000 --wait http
is 100 loadbalancer listener show http -c connection_limit
ok loadbalancer listener stats show http
refused "already" loadbalancer listener create --name twice --protocol TCP --protocol-port 80 web

ok loadbalancer pool create --name nodes --listener http --protocol TCP --lb-algorithm ROUND_ROBIN --wait
is ROUND_ROBIN loadbalancer pool show nodes -c lb_algorithm
ok loadbalancer pool set --lb-algorithm LEAST_CONNECTIONS --session-persistence type=SOURCE_IP --wait nodes
is LEAST_CONNECTIONS loadbalancer pool show nodes -c lb_algorithm
says nodes loadbalancer pool list --loadbalancer web -c name -f value

ok loadbalancer member create --name one --address 127.100.0.50 --protocol-port 30080 --weight 2 --wait nodes
is 2 loadbalancer member show nodes one -c weight
ok loadbalancer member set --weight 5 --wait nodes one
is 5 loadbalancer member show nodes one -c weight
says 127.100.0.50 loadbalancer member list nodes
refused "already" loadbalancer member create --address 127.100.0.50 --protocol-port 30080 nodes

ok loadbalancer healthmonitor create --name check --type TCP --delay 5 --timeout 3 --max-retries 2 --wait nodes
is 5 loadbalancer healthmonitor show check -c delay
ok loadbalancer healthmonitor set --delay 10 --wait check
is 10 loadbalancer healthmonitor show check -c delay
says check loadbalancer healthmonitor list -c name -f value

says "$lb" loadbalancer status show web
refused "has children" loadbalancer delete web
ok loadbalancer healthmonitor delete --wait check
ok loadbalancer member delete --wait nodes one
ok loadbalancer pool delete --wait nodes
ok loadbalancer listener delete --wait http
ok loadbalancer delete --wait web
refused "Unable to locate web" loadbalancer show web

# Layer 7 policies and rules.
ok loadbalancer create --name site --vip-subnet-id k8s-net-subnet --wait
ok loadbalancer listener create --name front --protocol HTTP --protocol-port 8080 --insert-headers X-Forwarded-For=true --wait site
ok loadbalancer pool create --name api --loadbalancer site --protocol HTTP --lb-algorithm ROUND_ROBIN --wait
if run loadbalancer l7policy create --name to-api --action REDIRECT_TO_POOL --redirect-pool api --wait front; then
	is REDIRECT_TO_POOL loadbalancer l7policy show to-api -c action
	ok loadbalancer l7policy set --position 1 --description "changed" --wait to-api
	says to-api loadbalancer l7policy list -c name -f value
	id rule loadbalancer l7rule create --type PATH --compare-type STARTS_WITH --value /api to-api # the client cannot wait for rules
	settle site
	is /api loadbalancer l7rule show to-api "$rule" -c value
	ok loadbalancer l7rule set --value /v2 to-api "$rule"
	settle site
	says /v2 loadbalancer l7rule list to-api
	ok loadbalancer l7rule delete to-api "$rule"
	settle site
	ok loadbalancer l7policy delete --wait to-api
else
	echo "note  layer 7 policies cannot be created yet"
fi
ok loadbalancer delete --cascade --wait site

# Secrets and containers.
if run secret list --help; then
	column "Secret href" secret secret store --name cert --secret-type certificate --payload CERT
	says "$secret" secret list
	is CERT secret get --payload "$secret" -c Payload
	is cert secret get "$secret" -c Name
	column "Container href" container secret container create --name tls --type certificate --secret certificate="$secret"
	says tls secret container list
	is tls secret container get "$container" -c Name
	ok acl get "$secret"
	ok acl user add --user octavia "$secret"
	says octavia acl get "$secret"
	ok secret container delete "$container"
	ok secret delete "$secret"
	refused "another castle" secret get "$secret"
else
	echo "note  python3-barbicanclient is not installed"
fi

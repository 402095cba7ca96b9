# Signing in, and what Keystone tells about the one who did.
ok token issue
says network catalog list
says load-balancer catalog show load-balancer
ok versions show --service load-balancer
is k8s project show k8s -c name
says k8s project list --my-projects
ok user show k8s
refused "not authorized" role list
ok region list
id project project show k8s

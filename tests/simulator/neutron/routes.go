package neutron

import (
	"net/http"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/internal/wire"
)

// routes maps the wire API to its handlers.
func (n *Neutron) routes() http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, h handler) { mux.Handle(pattern, n.handle(h)) }

	mux.HandleFunc("GET /{$}", versions)
	handle("GET /v2.0/{$}", listResources)

	handle("GET /v2.0/networks", n.listNetworks)
	handle("GET /v2.0/networks/{id}", n.showNetwork)
	handle("GET /v2.0/subnets", n.listSubnets)
	handle("GET /v2.0/subnets/{id}", n.showSubnet)
	handle("GET /v2.0/routers", n.listRouters)
	handle("GET /v2.0/routers/{id}", n.showRouter)
	handle("PUT /v2.0/routers/{id}", n.putRouter)
	handle("PUT /v2.0/routers/{id}/add_extraroutes", n.addRoutes)
	handle("PUT /v2.0/routers/{id}/remove_extraroutes", n.removeRoutes)

	handle("GET /v2.0/ports", n.listPorts)
	handle("POST /v2.0/ports", n.postPorts)
	handle("GET /v2.0/ports/{id}", n.showPort)
	handle("PUT /v2.0/ports/{id}", n.putPort)
	handle("DELETE /v2.0/ports/{id}", n.deletePort)

	handle("GET /v2.0/trunks", n.listTrunks)

	n.floatingRoutes(handle)
	n.groupRoutes(handle)
	for path, collection := range emptyCollections() {
		handle("GET /v2.0/"+path, func(*call) (int, any, error) {
			return http.StatusOK, map[string]any{collection: []any{}}, nil
		})
	}

	handle("GET /v2.0/{collection}/{id}/tags", n.showTags)
	handle("PUT /v2.0/{collection}/{id}/tags", n.putTags)
	handle("DELETE /v2.0/{collection}/{id}/tags", n.deleteTags)
	handle("GET /v2.0/{collection}/{id}/tags/{tag}", n.showTag)
	handle("PUT /v2.0/{collection}/{id}/tags/{tag}", n.putTag)
	handle("DELETE /v2.0/{collection}/{id}/tags/{tag}", n.deleteTag)

	handle("GET /v2.0/extensions", n.listExtensions)
	handle("GET /v2.0/extensions/{alias}", n.showExtension)
	handle("GET /v2.0/quotas/{project}", n.showQuota)
	handle("GET /v2.0/quotas/{project}/default", n.showDefaultQuota)
	handle("GET /v2.0/quotas/{project}/details.json", n.showQuotaUse)

	handle("POST /v2.0/ports/{id}", n.postPorts) // Neutron does not mind the ID
	handle("DELETE /v2.0/ports", func(*call) (int, any, error) { return 0, nil, portNotFound("None") })
	handle("/v2.0/", func(*call) (int, any, error) {
		return 0, nil, httpError(http.StatusNotFound, "HTTPNotFound", "The resource could not be found.")
	})
	handle("/", func(*call) (int, any, error) { return 0, nil, noSuchPage("") })
	return mux
}

// floatingRoutes are those of floating IPs and their port forwardings.
func (n *Neutron) floatingRoutes(handle func(pattern string, h handler)) {
	handle("GET /v2.0/floatingips", n.listFloatingIPs)
	handle("POST /v2.0/floatingips", n.postFloatingIP)
	handle("GET /v2.0/floatingips/{id}", n.showFloatingIP)
	handle("PUT /v2.0/floatingips/{id}", n.putFloatingIP)
	handle("DELETE /v2.0/floatingips/{id}", n.deleteFloatingIP)

	handle("GET /v2.0/floatingips/{id}/port_forwardings", n.listForwardings)
	handle("POST /v2.0/floatingips/{id}/port_forwardings", n.postForwarding)
	handle("GET /v2.0/floatingips/{id}/port_forwardings/{forwarding}", n.showForwarding)
	handle("PUT /v2.0/floatingips/{id}/port_forwardings/{forwarding}", n.putForwarding)
	handle("DELETE /v2.0/floatingips/{id}/port_forwardings/{forwarding}", n.deleteForwarding)
}

// groupRoutes are those of security groups and address groups.
func (n *Neutron) groupRoutes(handle func(pattern string, h handler)) {
	handle("GET /v2.0/security-groups", n.listSecurityGroups)
	handle("POST /v2.0/security-groups", n.postSecurityGroup)
	handle("GET /v2.0/security-groups/{id}", n.showSecurityGroup)
	handle("PUT /v2.0/security-groups/{id}", n.putSecurityGroup)
	handle("DELETE /v2.0/security-groups/{id}", n.deleteSecurityGroup)

	handle("GET /v2.0/security-group-rules", n.listRules)
	handle("POST /v2.0/security-group-rules", n.postRules)
	handle("GET /v2.0/security-group-rules/{id}", n.showRule)
	handle("DELETE /v2.0/security-group-rules/{id}", n.deleteRule)

	handle("GET /v2.0/address-groups", n.listAddressGroups)
	handle("POST /v2.0/address-groups", n.postAddressGroup)
	handle("GET /v2.0/address-groups/{id}", n.showAddressGroup)
	handle("PUT /v2.0/address-groups/{id}", n.putAddressGroup)
	handle("DELETE /v2.0/address-groups/{id}", n.deleteAddressGroup)
	handle("PUT /v2.0/address-groups/{id}/add_addresses", n.addAddresses)
	handle("PUT /v2.0/address-groups/{id}/remove_addresses", n.removeAddresses)
}

// noSuchPage is the answer of the web framework, which knows no envelope.
func noSuchPage(explanation string) *Error {
	return &Error{Status: http.StatusNotFound, Message: wire.NoSuchPage(explanation)}
}

// emptyCollections are what other clients look at and this cloud has none of,
// by path.
func emptyCollections() map[string]string {
	return map[string]string{
		"qos/policies": "policies", "availability_zones": "availability_zones", "agents": "agents",
		"subnetpools": "subnetpools", "rbac-policies": "rbac_policies",
	}
}

// listResources lists the core resources.
func listResources(c *call) (int, any, error) {
	resources := []any{}
	for _, name := range []string{"network", "subnet", "subnetpool", "port"} {
		resources = append(resources, map[string]any{
			"name": name, "collection": name + "s",
			"links": []link{{Rel: "self", HRef: wire.Base(c.Request) + "/v2.0/" + name + "s"}},
		})
	}
	return http.StatusOK, map[string]any{"resources": resources}, nil
}

// versions answers the version document, which needs no token.
func versions(w http.ResponseWriter, r *http.Request) {
	wire.WriteJSON(w, http.StatusOK, map[string]any{"versions": []any{map[string]any{
		"id": "v2.0", "status": "CURRENT",
		"links": []link{{HRef: wire.Base(r) + "/v2.0/", Rel: "self"}},
	}}})
}

func (n *Neutron) listExtensions(*call) (int, any, error) {
	extensions := make([]any, 0, len(n.options.Extensions))
	for _, alias := range n.options.Extensions {
		extensions = append(extensions, extensionBody(alias))
	}
	return http.StatusOK, map[string]any{"extensions": extensions}, nil
}

func (n *Neutron) showExtension(c *call) (int, any, error) {
	alias := c.PathValue("alias")
	if n.has(alias) {
		return http.StatusOK, map[string]any{"extension": extensionBody(alias)}, nil
	}
	return 0, nil, noSuchPage("Extension with alias " + alias + " does not exist")
}

// has reports whether this Neutron has an extension.
func (n *Neutron) has(alias string) bool { return slices.Contains(n.options.Extensions, alias) }

func extensionBody(alias string) map[string]any {
	return map[string]any{
		"alias": alias, "name": alias, "description": "", "links": []any{}, "updated": "2020-01-01T00:00:00-00:00",
	}
}

func (n *Neutron) showQuota(c *call) (int, any, error) {
	project := c.PathValue("project")
	if err := c.mayReadQuota(project); err != nil {
		return 0, nil, err
	}
	return http.StatusOK, map[string]any{"quota": n.quotaOf(project)}, nil
}

func (n *Neutron) showDefaultQuota(c *call) (int, any, error) {
	if err := c.mayReadQuota(c.PathValue("project")); err != nil {
		return 0, nil, err
	}
	return http.StatusOK, map[string]any{"quota": defaultQuotas()}, nil
}

func (n *Neutron) showQuotaUse(c *call) (int, any, error) {
	project := c.PathValue("project")
	if err := c.mayReadQuota(project); err != nil {
		return 0, nil, err
	}
	use := map[string]any{}
	for resource, limit := range n.quotaOf(project) {
		use[resource] = map[string]int{"limit": limit, "used": n.owned(resource, project), "reserved": 0}
	}
	return http.StatusOK, map[string]any{"quota": use}, nil
}

func (c *call) mayReadQuota(project string) error {
	if c.sees(project) {
		return nil
	}
	return policyForbids("rule:get_quota")
}

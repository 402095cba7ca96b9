package nova

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/google/uuid"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/internal/wire"
)

// Flavor is a size of server.
type Flavor struct {
	// ID; empty: made up.
	ID, Name string
	VCPUs    int
	// RAM in MiB and Disk in GiB.
	RAM, Disk int
	// ExtraSpecs such as hw:cpu_policy.
	ExtraSpecs map[string]string
}

// DefaultFlavors returns two sizes for nodes.
func DefaultFlavors() []Flavor {
	return []Flavor{
		{Name: "k8s.small", VCPUs: 2, RAM: 4096, Disk: 20},
		{Name: "k8s.large", VCPUs: 8, RAM: 16384, Disk: 80},
	}
}

// Flavors lists all flavors.
func (n *Nova) Flavors() []Flavor {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]Flavor{}, n.flavors...)
}

func (n *Nova) addFlavor(flavor Flavor) Flavor {
	if flavor.ID == "" {
		flavor.ID = uuid.NewString()
	}
	n.flavors = append(n.flavors, flavor)
	return flavor
}

// flavorNamed finds a flavor or creates a small one of that name; an empty name means the first
// flavor.
func (n *Nova) flavorNamed(name string) Flavor {
	for _, flavor := range n.flavors {
		if flavor.Name == name || name == "" {
			return flavor
		}
	}
	return n.addFlavor(Flavor{Name: name, VCPUs: 2, RAM: 4096, Disk: 20})
}

// listFlavors lists in the order of IDs, as Nova does.
func (n *Nova) listFlavors(c *call, detail bool) (int, any, error) {
	flavors := n.Flavors()
	slices.SortFunc(flavors, func(a, b Flavor) int { return cmp.Compare(a.ID, b.ID) })
	page, more, err := pageOf(n.options.MaxPageSize, flavors, c.URL.Query(), func(flavor Flavor) string { return flavor.ID })
	if err != nil {
		return 0, nil, err
	}
	shown := make([]any, 0, len(page))
	for _, flavor := range page {
		body := flavorBody(c, flavor)
		if !detail {
			body = map[string]any{"id": flavor.ID, "name": flavor.Name, "links": body["links"]}
		}
		shown = append(shown, body)
	}
	body := map[string]any{"flavors": shown}
	if more {
		body["flavors_links"] = []link{nextPage(c, page[len(page)-1].ID)}
	}
	return http.StatusOK, body, nil
}

func (n *Nova) showFlavor(c *call) (int, any, error) {
	flavor, err := n.flavorFor(c)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, map[string]any{"flavor": flavorBody(c, flavor)}, nil
}

func (n *Nova) showExtraSpecs(c *call) (int, any, error) {
	flavor, err := n.flavorFor(c)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, map[string]any{"extra_specs": specsOf(flavor)}, nil
}

// flavorFor returns the flavor of the path.
func (n *Nova) flavorFor(c *call) (Flavor, error) {
	id := c.PathValue("id")
	for _, flavor := range n.Flavors() {
		if flavor.ID == id {
			return flavor, nil
		}
	}
	return Flavor{}, itemNotFound("Flavor %s could not be found.", id)
}

func flavorBody(c *call, flavor Flavor) map[string]any {
	body := map[string]any{
		"id": flavor.ID, "name": flavor.Name, "vcpus": flavor.VCPUs, "ram": flavor.RAM, "disk": flavor.Disk,
		"swap": "", "rxtx_factor": json.RawMessage("1.0"), "OS-FLV-EXT-DATA:ephemeral": 0, "OS-FLV-DISABLED:disabled": false,
		"os-flavor-access:is_public": true,
		"links": []link{
			{Rel: "self", HRef: wire.Base(c.Request) + "/v2.1/flavors/" + flavor.ID},
			{Rel: "bookmark", HRef: wire.Base(c.Request) + "/flavors/" + flavor.ID},
		},
	}
	if c.minor >= 55 {
		body["description"] = nil
	}
	if c.minor >= 61 {
		body["extra_specs"] = specsOf(flavor)
	}
	if c.minor >= 75 {
		body["swap"] = 0
	}
	return body
}

// embeddedFlavor returns the flavor in the body of a server: a link to it, and from microversion
// 2.47 on its values at the creation of the server.
func embeddedFlavor(c *call, flavor Flavor) map[string]any {
	if c.minor >= 47 {
		return map[string]any{
			"vcpus": flavor.VCPUs, "ram": flavor.RAM, "disk": flavor.Disk, "ephemeral": 0, "swap": 0,
			"original_name": flavor.Name, "extra_specs": specsOf(flavor),
		}
	}
	return map[string]any{
		"id": flavor.ID, "links": []link{{Rel: "bookmark", HRef: wire.Base(c.Request) + "/flavors/" + flavor.ID}},
	}
}

func specsOf(flavor Flavor) map[string]string {
	if flavor.ExtraSpecs == nil {
		return map[string]string{}
	}
	return flavor.ExtraSpecs
}

package replay

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// seed maps the IDs that requests contain before an answer shows them.
func (r *repeater) seed() {
	project, network, subnet, subnet6 := r.place.Known()
	r.ids[r.site.project] = project
	known := func(id, address string) {
		if parsed, err := netip.ParseAddr(address); err == nil && id != "" {
			r.ids[id] = subnet
			if parsed.Is6() {
				r.ids[id] = subnet6
			}
		}
	}
	for _, facts := range r.site.facts {
		if facts.NetworkID != "" {
			r.ids[facts.NetworkID] = network
		}
		known(facts.SubnetID, facts.Address)
		for _, vip := range facts.AdditionalVIPs {
			known(vip.SubnetID, cmp.Or(vip.Address, r.site.addressIn(vip.SubnetID)))
		}
	}
}

// offer makes the flavors and the availability zones of the recorded lists.
func (r *repeater) offer(ctx context.Context) error {
	wanted := map[string]map[string]bool{"flavor": {}, "availability_zone": {}}
	for _, step := range r.site.steps {
		var answer struct {
			Flavors []octavia.Flavor
			Zones   []octavia.AvailabilityZone `json:"availability_zones"`
		}
		if step.Method != http.MethodGet || json.Unmarshal([]byte(step.Response), &answer) != nil {
			continue
		}
		for _, flavor := range answer.Flavors {
			wanted["flavor"][flavor.Name] = true
		}
		for _, zone := range answer.Zones {
			wanted["availability_zone"][zone.Name] = true
		}
	}
	data := map[string]string{"flavor": `{"loadbalancer_topology": "SINGLE"}`, "availability_zone": `{"compute_zone": "nova"}`}
	for kind, names := range wanted {
		for name := range names {
			if err := r.offerOne(ctx, kind, name, data[kind]); err != nil {
				return err
			}
		}
	}
	return nil
}

// offerOne makes a flavor or an availability zone, and its profile, unless it exists.
func (r *repeater) offerOne(ctx context.Context, kind, name, data string) error {
	collection := "/v2.0/lbaas/" + strings.ReplaceAll(kind, "_", "") + "s"
	present, err := r.place.Send(ctx, "admin", http.MethodGet, collection+"?name="+name, "", nil)
	if err != nil || strings.Contains(present.Body.String(), `"`+name+`"`) {
		return err
	}
	profile, err := r.create(ctx, "admin", strings.TrimSuffix(collection, "s")+"profiles", kind+"_profile", map[string]any{
		"name": name, "provider_name": octavia.ProviderAmphora, kind + "_data": data,
	})
	if err != nil {
		return err
	}
	_, err = r.create(ctx, "admin", collection, kind, map[string]any{"name": name, kind + "_profile_id": profile["id"]})
	return err
}

// create makes an object. The key of flavor profiles has no underscore.
func (r *repeater) create(ctx context.Context, caller, path, key string, object map[string]any) (map[string]any, error) {
	key = strings.Replace(key, "flavor_profile", "flavorprofile", 1)
	body, err := json.Marshal(map[string]any{key: object})
	if err != nil {
		return nil, err
	}
	answer, err := r.place.Send(ctx, caller, http.MethodPost, path, string(body), nil)
	if err != nil {
		return nil, err
	}
	var made map[string]map[string]any
	if answer.Code != http.StatusCreated || json.Unmarshal(answer.Body.Bytes(), &made) != nil {
		return nil, fmt.Errorf("POST %s: %d %s", path, answer.Code, answer.Body)
	}
	return made[key], nil
}

// begin deletes the load balancers that later requests do not need, and makes those that existed
// before the exchange.
func (r *repeater) begin(ctx context.Context, recording Recording) error {
	if err := r.place.Provide(ctx, 0, false); err != nil {
		return err
	}
	r.settled(ctx)
	for id := range maps.Clone(r.site.present) {
		if !r.site.needed(id, recording.Steps) {
			_, err := r.place.Send(ctx, "k8s", http.MethodDelete, r.translate("/v2.0/lbaas/loadbalancers/"+id+"?cascade=true"), "", nil)
			if err != nil {
				return err
			}
			delete(r.site.present, id)
		}
	}
	r.settled(ctx)
	r.site.freeAddresses(r.machine)
	for _, step := range recording.Steps {
		for _, id := range referredTo(step) {
			if r.site.made[id] || r.site.present[id] || step.Status == http.StatusNotFound {
				continue
			}
			if err := r.makeBefore(ctx, id); err != nil {
				return err
			}
		}
	}
	return nil
}

// makeBefore makes a load balancer that the exchange only uses.
func (r *repeater) makeBefore(ctx context.Context, id string) error {
	facts, known := r.site.factsOf(id)
	if !known {
		facts = r.site.facts[0]
		facts.ID, facts.PortID, facts.Address, facts.Name = id, "", "", r.site.nameOf(id)
	}
	made, err := r.create(ctx, "k8s", "/v2.0/lbaas/loadbalancers", "loadbalancer", map[string]any{
		"name": facts.Name, "provider": r.site.provider, "vip_subnet_id": r.translate(facts.SubnetID), "description": facts.Description,
	})
	if err != nil {
		return err
	}
	for recorded, key := range map[string]string{id: "id", facts.PortID: "vip_port_id", facts.Address: "vip_address"} {
		if ours, is := made[key].(string); is && recorded != "" {
			r.ids[recorded] = ours
		}
	}
	r.site.present[id] = true
	r.settled(ctx)
	return nil
}

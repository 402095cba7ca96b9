package octavia

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// nilID is a placeholder in Octavia's database that the API does not show.
const nilID = "00000000-0000-0000-0000-000000000000"

// Profile is what stands behind flavors or availability zones: the provider
// that they are for, and its settings as a JSON object.
type Profile struct{ ID, Name, Provider, Data string }

// Flavor of a load balancer.
type Flavor struct {
	ID, Name, Description string
	Enabled               bool
	ProfileID             string `json:"flavor_profile_id"`
	// Provider is the profile's; AddFlavor makes a profile where there is none.
	Provider string `json:"-"`
	unnamed  bool   // null was given, which others may have as well
}

// AvailabilityZone for a load balancer. It is known by its name.
type AvailabilityZone struct {
	Name, Description string
	Enabled           bool
	ProfileID         string `json:"availability_zone_profile_id"`
	Provider          string `json:"-"`
}

// catalogue is what a cloud's administrator offers.
type catalogue struct {
	flavors        []*Flavor
	flavorProfiles []*Profile
	zones          []*AvailabilityZone
	zoneProfiles   []*Profile
}

// AddFlavor offers a flavor. Without a profile it gets one of its own for the
// provider, and without an ID a new one. It returns the flavor as it is.
func (o *Octavia) AddFlavor(flavor Flavor) Flavor {
	o.locked(func() {
		if flavor.ID == "" {
			flavor.ID = o.newID("flavor", nil)
		}
		flavor.ProfileID = o.profileFor(&o.catalogue.flavorProfiles, flavor.ProfileID, flavor.Name, flavor.Provider)
		added := flavor
		o.catalogue.flavors = append(o.catalogue.flavors, &added)
	})
	return flavor
}

// AddAvailabilityZone offers a zone, with a profile as AddFlavor.
func (o *Octavia) AddAvailabilityZone(zone AvailabilityZone) AvailabilityZone {
	o.locked(func() {
		zone.ProfileID = o.profileFor(&o.catalogue.zoneProfiles, zone.ProfileID, zone.Name, zone.Provider)
		added := zone
		o.catalogue.zones = append(o.catalogue.zones, &added)
	})
	return zone
}

func (o *Octavia) profileFor(profiles *[]*Profile, id, name, provider string) string {
	if id == "" {
		id = randomID()
	}
	if profileOf(*profiles, id) == nil {
		*profiles = append(*profiles, &Profile{ID: id, Name: name, Provider: provider, Data: "{}"})
	}
	return id
}

func profileOf(profiles []*Profile, id string) *Profile {
	at := slices.IndexFunc(profiles, func(p *Profile) bool { return p.ID == id })
	if at < 0 {
		return nil
	}
	return profiles[at]
}

func (o *Octavia) flavor(id string) (*Flavor, *apiError) {
	for _, flavor := range o.catalogue.flavors {
		if flavor.ID == id {
			return flavor, nil
		}
	}
	return nil, notFound("Flavor", id)
}

func (o *Octavia) zone(name string) (*AvailabilityZone, *apiError) {
	for _, zone := range o.catalogue.zones {
		if zone.Name == name {
			return zone, nil
		}
	}
	return nil, notFound("Availability Zone", name)
}

// placement is what a flavor and a zone say about a new load balancer.
type placement struct{ provider, flavorID, zone string }

// checkPlacement finds the flavor and the zone of a new load balancer.
func (o *Octavia) checkPlacement(given body) (placement, *apiError) {
	chosen := placement{provider: given.text("provider"), flavorID: given.text("flavor_id"), zone: given.text("availability_zone")}
	if given.has("flavor_id") {
		flavor, failure := o.flavor(chosen.flavorID)
		if failure != nil {
			return chosen, invalid("Invalid flavor_id.")
		}
		if !flavor.Enabled {
			return chosen, disallowed("flavor", flavor.ID)
		}
	}
	if given.has("availability_zone") {
		zone, failure := o.zone(chosen.zone)
		if failure != nil || given["availability_zone"] == nil {
			return chosen, invalid("Invalid availability zone.")
		}
		if !zone.Enabled {
			return chosen, disallowed("availability_zone", zone.Name)
		}
	}
	if chosen.flavorID == "" {
		return chosen, nil
	}
	flavor, failure := o.flavor(chosen.flavorID)
	if failure != nil {
		return chosen, failure
	}
	wanted := profileOf(o.catalogue.flavorProfiles, flavor.ProfileID).Provider
	if chosen.provider != "" && chosen.provider != wanted {
		return chosen, refuse(http.StatusBadRequest, "Flavor '%s' is not compatible with provider '%s'", flavor.ID, chosen.provider)
	}
	chosen.provider = wanted
	return chosen, nil
}

// checkZone asks the provider about the zone.
func (o *Octavia) checkZone(provider, name string) *apiError {
	if name == "" {
		return nil
	}
	zone, failure := o.zone(name)
	if failure != nil {
		return failure
	}
	return o.validateProfile(provider, profileOf(o.catalogue.zoneProfiles, zone.ProfileID).Data, true)
}

func disallowed(option, value string) *apiError {
	return refuse(http.StatusBadRequest, "The selected %s is not allowed in this deployment: %s", option, value)
}

// validateProfile is what providers say about the settings of a profile.
func (o *Octavia) validateProfile(provider, data string, zone bool) *apiError {
	kind := "flavors"
	if zone {
		kind = "availability zones"
	}
	if provider == ProviderOVN {
		return unsupportedAction(provider, "This provider does not support validating "+kind+".")
	}
	decoder := json.NewDecoder(strings.NewReader(data))
	decoder.UseNumber()
	var decoded any
	if decoder.Decode(&decoded) != nil {
		return nil //nolint:nilerr // invalid JSON was refused before
	}
	if !isAmphora(provider) {
		return iterable(provider, decoded)
	}
	settings, is := decoded.(map[string]any)
	if !is {
		return unsupportedOption(provider, "%s is not of type 'object'", pythonRepr(decoded))
	}
	return checkSettings(provider, settings, o.release.capabilities(provider, zone))
}

// iterable returns the error of the no-op provider for a value without elements.
func iterable(provider string, decoded any) *apiError {
	switch decoded.(type) {
	case map[string]any, []any, string:
		return nil
	}
	if provider != ProviderNoop {
		return nil
	}
	return crash("Provider '" + provider + "' reports error: '" + pythonType(decoded) + "' object is not iterable")
}

// checkSettings compares the settings of a profile with what amphora knows, in
// the words of its schema.
func checkSettings(provider string, settings map[string]any, known []capability) *apiError {
	var strange []string
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		if !slices.ContainsFunc(known, func(c capability) bool { return c.name == name }) {
			strange = append(strange, pythonQuote(name))
		}
	}
	if len(strange) > 0 {
		verb := "was"
		if len(strange) > 1 {
			verb = "were"
		}
		return unsupportedOption(provider, "Additional properties are not allowed (%s %s unexpected)", strings.Join(strange, ", "), verb)
	}
	for _, c := range known {
		value, given := settings[c.name]
		if !given {
			continue
		}
		kind := cmp.Or(map[string]string{
			"valid_vip_networks": "array", "sriov_vip": "boolean", "allow_member_sriov": "boolean",
		}[c.name], "string")
		if !isOfType(value, kind) {
			return unsupportedOption(provider, "%s %s is not of type '%s'", c.name, pythonRepr(value), kind)
		}
	}
	topology, given := settings["loadbalancer_topology"]
	if given && topology != "SINGLE" && topology != "ACTIVE_STANDBY" {
		return unsupportedOption(provider, "loadbalancer_topology %s is not one of ['ACTIVE_STANDBY', 'SINGLE']", pythonRepr(topology))
	}
	return nil
}

func isOfType(value any, kind string) (is bool) {
	switch kind {
	case "array":
		_, is = value.([]any)
	case "boolean":
		_, is = value.(bool)
	default:
		_, is = value.(string)
	}
	return is
}

// capability is a setting that a provider knows.
type capability struct{ name, description string }

func (r Release) capabilities(provider string, zone bool) []capability {
	switch {
	case provider == ProviderNoop && zone:
		known := []capability{{"compute_zone", "The compute availability zone to use for this loadbalancer."}}
		if r.has(minorVnicType) {
			known = append(known, capability{"volume_zone", "The volume availability zone to use for this loadbalancer."})
		}
		return known
	case provider == ProviderNoop:
		return []capability{{"amp_image_tag", "The glance image tag to use for this load balancer."}}
	case isAmphora(provider) && zone:
		known := []capability{{"compute_zone", "The compute availability zone."}}
		if r.has(minorVnicType) && !r.NoVolumeZone {
			known = append(known, capability{"volume_zone", "The volume availability zone."})
		}
		return append(known, []capability{
			{"management_network", "The management network ID for the amphora."},
			{"valid_vip_networks", "List of network IDs that are allowed for VIP use. " +
				"This overrides/replaces the list of allowed networks configured in `octavia.conf`."},
		}...)
	case isAmphora(provider):
		known := []capability{
			{"loadbalancer_topology", "The load balancer topology. One of: SINGLE - One amphora per load balancer. " +
				"ACTIVE_STANDBY - Two amphora per load balancer."},
			{"compute_flavor", "The compute driver flavor ID."},
			{"amp_image_tag", "The amphora image tag."},
		}
		if r.has(minorVnicType) {
			known = append(known, capability{"sriov_vip", "When true, the VIP port will be created using an SR-IOV VF port."})
		}
		if r.has(minorMemberVnic) {
			known = append(known, capability{"allow_member_sriov",
				"When true, users can request a member port be SR-IOV enabled at member creation time."})
		}
		return known
	}
	return nil
}

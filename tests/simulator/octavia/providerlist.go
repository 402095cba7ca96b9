package octavia

import (
	"net/http"
	"slices"
)

// providers are those enabled, with what their flavors and zones can set.
func (o *Octavia) providers() resource {
	return resource{list: o.listProviders, parts: map[string]resource{
		"flavor_capabilities":            {list: o.listCapabilities("flavor_capabilities", false)},
		"availability_zone_capabilities": {list: o.listCapabilities("availability_zone_capabilities", true)},
	}}
}

func (o *Octavia) listProviders(c *call) (response, *apiError) {
	if failure := o.mayReadShared(c.caller); failure != nil {
		return response{}, failure
	}
	shown := []view{}
	for _, name := range o.options.Providers {
		shown = append(shown, view{"name": name, "description": o.description(name)}.only(c.fields))
	}
	return response{http.StatusOK, view{"providers": shown}}, nil
}

func (o *Octavia) description(provider string) string {
	if text, given := o.options.Descriptions[provider]; given {
		return text
	}
	return map[string]string{
		ProviderAmphora: "The Octavia Amphora driver.",
		ProviderAlias:   "Deprecated alias of the Octavia Amphora driver.",
		ProviderOVN:     "Octavia OVN driver.",
		ProviderNoop:    "The no-op driver.",
	}[provider]
}

// listCapabilities can be filtered by name and description only.
func (o *Octavia) listCapabilities(key string, zone bool) handler {
	return func(c *call) (response, *apiError) {
		if failure := mayAdminister(c.caller); failure != nil {
			return response{}, failure
		}
		if !slices.Contains(o.options.Providers, c.id) {
			return response{}, refuse(http.StatusBadRequest, "Provider '%s' is not enabled.", c.id)
		}
		if c.id == ProviderOVN {
			what := "flavor"
			if zone {
				what = "availability zone"
			}
			return response{}, unsupportedAction(c.id, "This provider does not support getting the supported "+what+" metadata.")
		}
		shown := []view{}
		for _, one := range o.release.capabilities(c.id, zone) {
			known := view{"name": one.name, "description": one.description}
			if wanted := c.query; matchesText(wanted["name"], one.name) && matchesText(wanted["description"], one.description) {
				shown = append(shown, known.only(c.fields))
			}
		}
		return response{http.StatusOK, view{key: shown}}, nil
	}
}

func matchesText(wanted []string, value string) bool { return len(wanted) == 0 || wanted[0] == value }

package octavia

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
)

// profileKind is what the profiles of flavors and of availability zones differ
// in.
type profileKind struct {
	wrapper, argument string // of requests and answers
	data              string // the attribute with the settings
	title             string // as most errors call it
	deleted           string // as the errors of the placeholder and of deletions do
	table             string
	zone              bool
	profiles          func(*catalogue) *[]*Profile
	used              func(*catalogue, string) bool
}

func (o *Octavia) flavorProfiles() resource {
	return o.profileResource("flavor_profile_id", profileKind{
		wrapper: "flavorprofile", argument: "flavor_profile_", data: "flavor_data",
		title: "Flavor Profile", deleted: "Flavor profile", table: "flavorprofiles",
		profiles: func(c *catalogue) *[]*Profile { return &c.flavorProfiles },
		used: func(c *catalogue, id string) bool {
			return slices.ContainsFunc(c.flavors, func(f *Flavor) bool { return f.ProfileID == id })
		},
	})
}

func (o *Octavia) availabilityZoneProfiles() resource {
	return o.profileResource("availability_zone_profile_id", profileKind{
		wrapper: "availability_zone_profile", argument: "availability_zone_profile_", data: "availability_zone_data",
		title: "Availability Zone Profile", deleted: "Availability Zone Profile", table: "availabilityzoneprofiles", zone: true,
		profiles: func(c *catalogue) *[]*Profile { return &c.zoneProfiles },
		used: func(c *catalogue, id string) bool {
			return slices.ContainsFunc(c.zones, func(z *AvailabilityZone) bool { return z.ProfileID == id })
		},
	})
}

func (o *Octavia) profileResource(identifier string, kind profileKind) resource {
	administered := func(serve func(*call, profileKind) (response, *apiError)) handler {
		return func(c *call) (response, *apiError) { return serve(c, kind) }
	}
	return resource{
		list: administered(o.listProfiles), create: administered(o.createProfile), show: administered(o.showProfile),
		put: administered(o.updateProfile), remove: administered(o.deleteProfile), removeID: identifier,
	}
}

func (p *Profile) view(kind profileKind) view {
	return view{"id": p.ID, "name": p.Name, "provider_name": p.Provider, kind.data: p.Data}
}

func (o *Octavia) profile(kind profileKind, id string) (*Profile, *apiError) {
	if profile := profileOf(*kind.profiles(&o.catalogue), id); profile != nil {
		return profile, nil
	}
	if id == nilID {
		return nil, notFound(kind.deleted, id)
	}
	return nil, notFound(kind.title, id)
}

// listProfiles returns links under a separate key, which is always empty.
func (o *Octavia) listProfiles(c *call, kind profileKind) (response, *apiError) {
	if failure := mayAdminister(c.caller); failure != nil {
		return response{}, failure
	}
	profiles := *kind.profiles(&o.catalogue)
	rows := make([]row, len(profiles))
	for i, profile := range profiles {
		rows[i] = row{thing: profile, id: profile.ID, show: func() view { return profile.view(kind) }}
	}
	return o.list(c, o.tables[kind.table], rows)
}

func (o *Octavia) showProfile(c *call, kind profileKind) (response, *apiError) {
	if failure := mayAdminister(c.caller); failure != nil {
		return response{}, failure
	}
	profile, failure := o.profile(kind, c.id)
	if failure != nil {
		return response{}, failure
	}
	return response{http.StatusOK, view{kind.wrapper: profile.view(kind).only(c.fields)}}, nil
}

func (o *Octavia) createProfile(c *call, kind profileKind) (response, *apiError) {
	given, failure := o.parseObject(c, kind.argument, kind.wrapper, profilePOST(kind.data))
	if failure != nil {
		return response{}, failure
	}
	if failure := mayAdminister(c.caller); failure != nil {
		return response{}, failure
	}
	if failure := o.checkProfile(kind, kind.data, given[kind.data], given.text("provider_name")); failure != nil {
		return response{}, failure
	}
	if given["provider_name"] == nil {
		return response{}, databaseError("Column 'provider_name' cannot be null", "INSERT INTO "+kind.table+" …")
	}
	profile := &Profile{Name: given.text("name"), Provider: given.text("provider_name"), Data: given.text(kind.data)}
	profile.ID = o.newID(kind.wrapper, given)
	profiles := kind.profiles(&o.catalogue)
	*profiles = append(*profiles, profile)
	return response{http.StatusCreated, view{kind.wrapper: profile.view(kind)}}, nil
}

// checkProfile reads the settings and asks the provider about them. No
// provider stands for amphora.
func (o *Octavia) checkProfile(kind profileKind, attribute string, data any, provider string) *apiError {
	provider = cmp.Or(provider, ProviderAmphora)
	text, is := data.(string)
	if !is || !json.Valid([]byte(text)) {
		return refuse(http.StatusBadRequest, "%s is not a valid option for %s", python(data), attribute)
	}
	if !slices.Contains(o.options.Providers, provider) {
		return refuse(http.StatusBadRequest, "Provider '%s' is not enabled.", provider)
	}
	return o.validateProfile(provider, text, kind.zone)
}

func (o *Octavia) updateProfile(c *call, kind profileKind) (response, *apiError) {
	given, failure := o.parseObject(c, kind.argument, kind.wrapper, profilePUT(kind.data))
	if failure != nil {
		return response{}, failure
	}
	if failure := mayAdminister(c.caller); failure != nil {
		return response{}, failure
	}
	for _, key := range []string{"name", "provider_name", kind.data} {
		if given.has(key) && given[key] == nil {
			return response{}, refuse(http.StatusBadRequest, "None is not a valid option for %s", key)
		}
	}
	if (given.has(kind.data) || given.has("provider_name")) && kind.used(&o.catalogue, c.id) {
		return response{}, inUse(kind.deleted, c.id)
	}
	profile, missing := o.profile(kind, c.id)
	if given.has(kind.data) {
		if failure := o.checkNewData(kind, given, profile, missing); failure != nil {
			return response{}, failure
		}
	}
	if missing != nil {
		return response{}, missing
	}
	changed := *profile
	for key, target := range map[string]*string{
		"name": &changed.Name, "provider_name": &changed.Provider, kind.data: &changed.Data,
	} {
		if given.has(key) {
			*target = given.text(key)
		}
	}
	*profile = changed
	return response{http.StatusOK, view{kind.wrapper: profile.view(kind)}}, nil
}

// checkNewData looks at the settings before it is known that the profile
// exists, but for its provider. All errors call them flavor_data.
func (o *Octavia) checkNewData(kind profileKind, given body, profile *Profile, missing *apiError) *apiError {
	const attribute = "flavor_data"
	if text, is := given[kind.data].(string); !is || !json.Valid([]byte(text)) {
		return o.checkProfile(kind, attribute, given[kind.data], "")
	}
	provider := given.text("provider_name")
	if !given.has("provider_name") {
		if missing != nil {
			return missing
		}
		provider = profile.Provider
	}
	return o.checkProfile(kind, attribute, given[kind.data], provider)
}

func (o *Octavia) deleteProfile(c *call, kind profileKind) (response, *apiError) {
	if failure := mayAdminister(c.caller); failure != nil {
		return response{}, failure
	}
	profiles := kind.profiles(&o.catalogue)
	profile := profileOf(*profiles, c.id)
	if profile == nil {
		return response{}, notFound(kind.deleted, c.id)
	}
	if kind.used(&o.catalogue, c.id) {
		return response{}, inUse(kind.deleted, c.id)
	}
	*profiles = slices.DeleteFunc(*profiles, func(other *Profile) bool { return other == profile })
	return response{status: http.StatusNoContent}, nil
}

package octavia

import (
	"net/http"
	"slices"
)

func (o *Octavia) flavors() resource {
	return resource{
		list: o.listFlavors, create: o.createFlavor, show: o.showFlavor, put: o.updateFlavor, remove: o.deleteFlavor,
		removeID: "flavor_id",
	}
}

func (f *Flavor) view() view {
	return view{
		"id": f.ID, "name": f.Name, "description": f.Description, "enabled": f.Enabled, "flavor_profile_id": f.ProfileID,
	}
}

func (o *Octavia) listFlavors(c *call) (response, *apiError) {
	if failure := o.mayReadShared(c.caller); failure != nil {
		return response{}, failure
	}
	rows := make([]row, len(o.catalogue.flavors))
	for i, flavor := range o.catalogue.flavors {
		rows[i] = row{thing: flavor, id: flavor.ID, show: flavor.view}
	}
	return o.list(c, o.tables["flavors"], rows)
}

func (o *Octavia) showFlavor(c *call) (response, *apiError) {
	if failure := o.mayReadShared(c.caller); failure != nil {
		return response{}, failure
	}
	flavor, failure := o.flavor(c.id)
	if failure != nil {
		return response{}, failure
	}
	return response{http.StatusOK, view{"flavor": flavor.view().only(c.fields)}}, nil
}

func (o *Octavia) createFlavor(c *call) (response, *apiError) {
	given, failure := o.parseObject(c, "flavor_", "flavor", flavorPOST())
	if failure != nil {
		return response{}, failure
	}
	if failure := mayAdminister(c.caller); failure != nil {
		return response{}, failure
	}
	flavor := &Flavor{
		Name: given.text("name"), Description: given.text("description"),
		Enabled: given.boolean("enabled", true), ProfileID: given.text("flavor_profile_id"),
	}
	if given["name"] != nil && o.flavorNamed(flavor.Name, nil) {
		return response{}, refuse(http.StatusConflict, "A flavor of %s already exists.", flavor.Name)
	}
	if profileOf(o.catalogue.flavorProfiles, flavor.ProfileID) == nil {
		return response{}, databaseError("a foreign key constraint fails", "INSERT INTO flavor …")
	}
	if failure := notNull(given, "enabled"); failure != nil {
		return response{}, failure
	}
	flavor.unnamed = given["name"] == nil
	flavor.ID = o.newID("flavor", nil)
	o.catalogue.flavors = append(o.catalogue.flavors, flavor)
	return response{http.StatusCreated, view{"flavor": flavor.view()}}, nil
}

// flavorNamed reports whether another flavor has the name. An empty name is no name.
func (o *Octavia) flavorNamed(name string, than *Flavor) bool {
	return slices.ContainsFunc(o.catalogue.flavors, func(other *Flavor) bool {
		return other != than && other.Name == name && !other.unnamed
	})
}

// notNull refuses null where the database does.
func notNull(given body, key string) *apiError {
	if value, present := given[key]; present && value == nil {
		return databaseError("Column '"+key+"' cannot be null", "…")
	}
	return nil
}

func (o *Octavia) updateFlavor(c *call) (response, *apiError) {
	given, failure := o.parseObject(c, "flavor_", "flavor", flavorPUT())
	if failure != nil {
		return response{}, failure
	}
	if failure := mayAdminister(c.caller); failure != nil {
		return response{}, failure
	}
	flavor, failure := o.flavor(c.id)
	if failure != nil {
		return response{}, failure
	}
	if failure := notNull(given, "enabled"); failure != nil {
		return response{}, failure
	}
	if given.has("name") {
		if given["name"] != nil && o.flavorNamed(given.text("name"), flavor) {
			return response{}, databaseError("Duplicate entry for key 'name'", "UPDATE flavor …")
		}
		flavor.Name, flavor.unnamed = given.text("name"), given["name"] == nil
	}
	if given.has("description") {
		flavor.Description = given.text("description")
	}
	flavor.Enabled = given.boolean("enabled", flavor.Enabled)
	return response{http.StatusOK, view{"flavor": flavor.view()}}, nil
}

func (o *Octavia) deleteFlavor(c *call) (response, *apiError) {
	if failure := mayAdminister(c.caller); failure != nil {
		return response{}, failure
	}
	flavor, failure := o.flavor(c.id)
	if failure != nil {
		return response{}, failure
	}
	if slices.ContainsFunc(o.balancers, func(lb *LoadBalancer) bool { return lb.FlavorID == flavor.ID }) {
		return response{}, inUse("Flavor", flavor.ID)
	}
	o.catalogue.flavors = slices.DeleteFunc(o.catalogue.flavors, func(other *Flavor) bool { return other == flavor })
	return response{status: http.StatusNoContent}, nil
}

func inUse(kind, id string) *apiError {
	return refuse(http.StatusConflict, "%s %s is in use and cannot be modified.", kind, id)
}

func (o *Octavia) availabilityZones() resource {
	return resource{
		list: o.listZones, create: o.createZone, show: o.showZone, put: o.updateZone, remove: o.deleteZone,
		putID: "name", removeID: "availability_zone_name",
	}
}

func (z *AvailabilityZone) view() view {
	return view{
		"name": z.Name, "description": z.Description, "enabled": z.Enabled, "availability_zone_profile_id": z.ProfileID,
	}
}

func (o *Octavia) listZones(c *call) (response, *apiError) {
	if failure := o.mayReadShared(c.caller); failure != nil {
		return response{}, failure
	}
	rows := make([]row, len(o.catalogue.zones))
	for i, zone := range o.catalogue.zones {
		rows[i] = row{thing: zone, id: zone.Name, show: zone.view}
	}
	return o.list(c, o.tables["availabilityzones"], rows)
}

func (o *Octavia) showZone(c *call) (response, *apiError) {
	if failure := o.mayReadShared(c.caller); failure != nil {
		return response{}, failure
	}
	zone, failure := o.zone(c.id)
	if failure != nil {
		return response{}, failure
	}
	return response{http.StatusOK, view{"availability_zone": zone.view().only(c.fields)}}, nil
}

func (o *Octavia) createZone(c *call) (response, *apiError) {
	given, failure := o.parseObject(c, "availability_zone_", "availability_zone", zonePOST())
	if failure != nil {
		return response{}, failure
	}
	if failure := mayAdminister(c.caller); failure != nil {
		return response{}, failure
	}
	zone := &AvailabilityZone{
		Name: given.text("name"), Description: given.text("description"),
		Enabled: given.boolean("enabled", true), ProfileID: given.text("availability_zone_profile_id"),
	}
	if _, missing := o.zone(zone.Name); missing == nil {
		return response{}, refuse(http.StatusConflict, "A availability zone of %s already exists.", zone.Name)
	}
	if profileOf(o.catalogue.zoneProfiles, zone.ProfileID) == nil {
		return response{}, databaseError("a foreign key constraint fails", "INSERT INTO availability_zone …")
	}
	if failure := notNull(given, "enabled"); failure != nil {
		return response{}, failure
	}
	if failure := notNull(given, "name"); failure != nil {
		return response{}, failure
	}
	o.catalogue.zones = append(o.catalogue.zones, zone)
	return response{http.StatusCreated, view{"availability_zone": zone.view()}}, nil
}

func (o *Octavia) updateZone(c *call) (response, *apiError) {
	given, failure := o.parseObject(c, "availability_zone_", "availability_zone", zonePUT())
	if failure != nil {
		return response{}, failure
	}
	if failure := mayAdminister(c.caller); failure != nil {
		return response{}, failure
	}
	zone, failure := o.zone(c.id)
	if failure != nil {
		return response{}, failure
	}
	if failure := notNull(given, "enabled"); failure != nil {
		return response{}, failure
	}
	if given.has("description") {
		zone.Description = given.text("description")
	}
	zone.Enabled = given.boolean("enabled", zone.Enabled)
	return response{http.StatusOK, view{"availability_zone": zone.view()}}, nil
}

func (o *Octavia) deleteZone(c *call) (response, *apiError) {
	if failure := mayAdminister(c.caller); failure != nil {
		return response{}, failure
	}
	zone, failure := o.zone(c.id)
	if failure != nil {
		return response{}, failure
	}
	if slices.ContainsFunc(o.balancers, func(lb *LoadBalancer) bool { return lb.AvailabilityZone == zone.Name }) {
		return response{}, inUse("Availability Zone", zone.Name)
	}
	o.catalogue.zones = slices.DeleteFunc(o.catalogue.zones, func(other *AvailabilityZone) bool { return other == zone })
	return response{status: http.StatusNoContent}, nil
}

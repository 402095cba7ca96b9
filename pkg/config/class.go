package config

import "reflect"

// With returns the settings of Services that use a class: the values of the class, and the
// section's values for all other keys. Subnet and network of the VIP are replaced together, and so
// are the settings of floating IPs, because a value of the class need not match one of the section.
func (lb LoadBalancer) With(class *LoadBalancerClass) LoadBalancer {
	if class == nil {
		return lb
	}
	if class.SubnetID != "" || class.NetworkID != "" {
		lb.SubnetID, lb.NetworkID = "", ""
	}
	if class.FloatingNetworkID+class.FloatingSubnetID+class.FloatingSubnet+class.FloatingSubnetTags != "" {
		lb.FloatingSubnetID, lb.FloatingSubnet, lb.FloatingSubnetTags = "", "", ""
	}
	from, to := reflect.ValueOf(class).Elem(), reflect.ValueOf(&lb).Elem()
	for i := range from.NumField() {
		given := from.Field(i)
		if given.IsZero() {
			continue
		}
		target := to.FieldByName(from.Type().Field(i).Name)
		if given.Kind() == reflect.Pointer && target.Kind() != reflect.Pointer {
			given = given.Elem()
		}
		target.Set(given)
	}
	return lb
}

package config

import "reflect"

// With gives the settings of Services that picked a class: those of the class, and
// what it does not say as it is. Subnet and network of the VIP go together, and so do
// those of floating IPs: one of the class and the other of the section need not fit.
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

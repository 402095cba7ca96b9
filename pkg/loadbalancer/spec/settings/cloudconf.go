package settings

import (
	"errors"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
)

// selectorPlace is the Place of a config.ValueError for the node selector of cloud.conf.
const selectorPlace = "cloud.conf [LoadBalancer] node-selector"

// wrongConfig returns the errors in [LoadBalancer] of cloud.conf. The intended settings are unknown
// then, so that all Services are refused, and existing load balancers are kept in operation.
func wrongConfig(cfg *config.Config) field.ErrorList {
	var errs field.ErrorList
	for _, err := range cfg.Refused.LoadBalancers {
		var value *config.ValueError
		if errors.As(err, &value) {
			errs = append(errs, field.Invalid(field.NewPath(value.Place), value.Value, "allowed is "+value.Allowed+": ask the cluster's operator to correct it"))
			continue
		}
		errs = append(errs, field.Forbidden(field.NewPath("cloud.conf"), err.Error()+": ask the cluster's operator to correct it"))
	}
	return errs
}

package settings

import (
	"errors"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
)

// selectorPlace is where config.ValueError says that cloud.conf has its node selector.
const selectorPlace = "cloud.conf [LoadBalancer] node-selector"

// wrongConfig returns what is wrong with [LoadBalancer] of cloud.conf. Nobody knows what
// Services should get then, so all of them are refused; what they have is kept alive.
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

package settings

import "github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"

// ForDriver are the settings of a Service with the driver that serves it, in its release. What they mean
// depends on both.
type ForDriver struct {
	s   *Settings
	drv driver.Driver
}

// For returns the settings for a driver.
func (s *Settings) For(drv driver.Driver) ForDriver { return ForDriver{s, drv} }

package main

import (
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
)

// cloudName is the simulator's name in clouds.yaml.
const cloudName = "openstack-sim"

// cloudsYAML describes the cloud for the OpenStack command line clients and SDKs.
func cloudsYAML(cloud *simulator.Cloud) ([]byte, error) {
	text, err := yaml.Marshal(map[string]any{
		"clouds": map[string]any{
			cloudName: map[string]any{
				"auth": map[string]string{
					"auth_url":            cloud.AuthURL(),
					"username":            cloud.Account.UserName,
					"password":            cloud.Account.Password,
					"project_name":        cloud.Account.ProjectName,
					"user_domain_name":    "Default",
					"project_domain_name": "Default",
				},
				"region_name":          "RegionOne",
				"identity_api_version": 3,
			},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("describe the cloud for clouds.yaml: %w", err)
	}
	return text, nil
}

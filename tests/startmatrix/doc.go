// Package startmatrix tests a promise of docs/migration.md: users of cloud-provider-openstack
// replace only the image. The test has the container specs of its installers as data, and starts
// the file system of this project's image with each of them, as the kubelet would.
package startmatrix

// Package startmatrix holds the image to a promise of docs/migration.md: whoever runs
// cloud-provider-openstack replaces the image and keeps the rest. Its test has the
// container specs of those who install it as data, and starts the file system of our
// image with each of them, as kubelet would.
package startmatrix

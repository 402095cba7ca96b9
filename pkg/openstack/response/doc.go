// Package response decodes the answers of OpenStack, which can have megabytes, from memory that they
// occupy only once. It also reads lists from services that may split them into pages.
//
// Lists follow pagination to the end, with any configured page size.
package response

// Package rest has the common parts of OpenStack's APIs: the kinds of requests, answers, and lists in pages.
//
// A Kind classifies a request by method and path: the service, the name in metrics, and the class with a
// common limit. Answers can have megabytes. They are decoded from the memory that the transport has read
// them into: status trees and lists of states by a Reader, everything else by reflection.
package rest

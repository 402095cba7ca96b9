package rest

import (
	"fmt"
	"net/url"
	"strings"
)

// PathOf returns the path of an object in a collection. It returns an error for an ID that would
// change the path: the empty one, "." and "..".
func PathOf(collection, id string) (string, error) {
	if id == "" || id == "." || id == ".." {
		return "", fmt.Errorf("%q is not an ID", id)
	}
	return collection + "/" + url.PathEscape(id), nil
}

// CheckAbout returns an error unless the answer is about the requested object. OpenStack compares
// IDs without case.
func CheckAbout(asked, answered string) error {
	if asked == "" || !strings.EqualFold(asked, answered) {
		return fmt.Errorf("the answer is about %q", answered)
	}
	return nil
}

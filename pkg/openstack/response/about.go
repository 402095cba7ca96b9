package response

import (
	"fmt"
	"net/url"
	"strings"
)

// PathOf returns the path of an object in a collection. The error reports an ID that would lead
// to another path: an empty one to the collection, "." and ".." likewise where a server or a
// proxy normalizes paths.
func PathOf(collection, id string) (string, error) {
	if id == "" || id == "." || id == ".." {
		return "", fmt.Errorf("%q is not an ID", id)
	}
	return collection + "/" + url.PathEscape(id), nil
}

// CheckAbout returns an error where the answer to a request for one object is about another
// one, or about none. OpenStack compares IDs without case.
func CheckAbout(asked, answered string) error {
	if asked == "" || !strings.EqualFold(asked, answered) {
		return fmt.Errorf("the answer is about %q", answered)
	}
	return nil
}

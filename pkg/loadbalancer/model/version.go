package model

import (
	"fmt"
	"strconv"
	"strings"
)

// Version is a version of an API. Versions of Octavia's are additive: a server of 2.16 has all
// features of 2.12.
type Version struct {
	Major, Minor int
}

// String returns the usual form: "v2.16".
func (v Version) String() string { return fmt.Sprintf("v%d.%d", v.Major, v.Minor) }

// AtLeast reports whether a version is equal to another or later. It compares numbers: 2.10 is
// later than 2.9.
func (v Version) AtLeast(other Version) bool {
	if v.Major != other.Major {
		return v.Major > other.Major
	}
	return v.Minor >= other.Minor
}

// ParseVersion reads "v2.16", "2.16" and "v2".
func ParseVersion(text string) (Version, error) {
	major, minor, hasMinor := strings.Cut(strings.TrimPrefix(text, "v"), ".")
	var v Version
	var err error
	if v.Major, err = parseNumber(major); err == nil && hasMinor {
		v.Minor, err = parseNumber(minor)
	}
	if err != nil {
		return Version{}, fmt.Errorf("%q is not an API version", text)
	}
	return v, nil
}

func parseNumber(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	return int(n), err
}

// OldestVersion is the version of every Octavia with an API of version 2. It has only the features
// of the first release.
var OldestVersion = Version{2, 0}

package octavia

// Release has the differences between the APIs of Octavia's releases.
type Release struct {
	// Name is the OpenStack release, Version the Octavia one.
	Name, Version string
	// Minor is the newest API version, v2.<Minor>.
	Minor int
	// BodyLimit in bytes, above which a request gets 413 (since 14.0.0).
	BodyLimit int
	// KeystoneRoles: member writes and reader reads (since 16.0). Before, the
	// load-balancer_* roles are needed.
	KeystoneRoles bool
	// TextErrors: errors raised outside of the typed layer are text/plain
	// unless the caller asks for JSON.
	TextErrors bool
	// FullCreateOmitsMonitors: "healthmonitor" is null in the answer of a
	// full create although the monitor is made.
	FullCreateOmitsMonitors bool
	// ListenerUpdatedAtOnce: a listener that is made with a pool has an updated_at
	// in the answer.
	ListenerUpdatedAtOnce bool
	// DuplicateMemberHangs: an existing member named twice in one batch is
	// accepted, and the load balancer stays PENDING_UPDATE for ever.
	DuplicateMemberHangs bool
	// CIDRCheckCrashes: 500 when an allowed CIDR of a full create does not fit
	// the VIP (14.0.0).
	CIDRCheckCrashes bool
	// OneVIPText: the CIDR error names one VIP and not the list of all.
	OneVIPText bool
	// AddressConflict: a VIP address in use is 409 (since 17.0) and not 500.
	AddressConflict bool
	// NeutronSDK: Octavia talks to Neutron by openstacksdk, and its errors are in the SDK's words.
	NeutronSDK bool
	// NoVolumeZone: availability zones have no volume_zone (until 16.0).
	NoVolumeZone bool
	// UnlimitedPageFails: a list without a limit is 500 (until 14.0.0).
	UnlimitedPageFails bool
	// OldOVN: see Quirks.OldOVN.
	OldOVN bool
	// QueuedOVN: see Quirks.QueuedOVN.
	QueuedOVN bool
	// WholeQuota: a project's quota has its ID and both spellings of the
	// classes (since 2026.2).
	WholeQuota bool
	// HardenedTexts: spaces and control characters in redirect URLs, regular
	// expressions and cipher strings are refused (OSSA-2026-039, which Debian's
	// packages of zed have).
	HardenedTexts bool
	// OVNSourceIP: ovn also takes the algorithm SOURCE_IP (since 2026.2).
	OVNSourceIP bool
}

// bodyLimit is oslo.middleware's default max_request_body_size.
const bodyLimit = 114688

// Releases returns the known releases by name.
func Releases() map[string]Release {
	all := map[string]Release{}
	for _, release := range []Release{
		{
			Name: "zed", Version: "11.0.0", Minor: 26, TextErrors: true, FullCreateOmitsMonitors: true,
			ListenerUpdatedAtOnce: true, DuplicateMemberHangs: true, OneVIPText: true, UnlimitedPageFails: true,
			OldOVN: true, HardenedTexts: true,
		},
		{
			Name: "2024.1", Version: "14.0.0", Minor: 28, BodyLimit: bodyLimit,
			DuplicateMemberHangs: true, CIDRCheckCrashes: true, UnlimitedPageFails: true,
		},
		{Name: "2024.2", Version: "15.0.0", Minor: 28, BodyLimit: bodyLimit},
		{
			Name: "2025.1", Version: "16.0.0", Minor: 30, BodyLimit: bodyLimit, KeystoneRoles: true, QueuedOVN: true,
			NeutronSDK: true, NoVolumeZone: true,
		},
		{Name: "2026.1", Version: "18.0.0", Minor: 30, BodyLimit: bodyLimit, KeystoneRoles: true, AddressConflict: true},
		{
			Name: "2026.2", Version: "19.0.0", Minor: 30, BodyLimit: bodyLimit, KeystoneRoles: true,
			AddressConflict: true, OVNSourceIP: true, WholeQuota: true,
		},
	} {
		all[release.Name] = release
	}
	all["2026.2-dev"] = all["2026.2"]
	return all
}

// Minor API versions that brought attributes.
const (
	minorHSTS          = 27
	minorVnicType      = 28
	minorVIPSGs        = 29
	minorMemberVnic    = 30
	currentMajorPrefix = "v2."
)

func (r Release) has(minor int) bool { return r.Minor >= minor }

// versionDates are the "updated" dates of the versions document, by minor.
func versionDates() []string {
	return []string{
		"2016-12-11T00:00:00Z", "2018-04-20T00:00:00Z", "2018-07-31T00:00:00Z", "2018-12-18T00:00:00Z",
		"2018-12-19T00:00:00Z", "2019-01-21T00:00:00Z", "2019-01-25T00:00:00Z", "2018-01-25T12:00:00Z",
		"2019-02-12T00:00:00Z", "2019-03-04T00:00:00Z", "2019-03-05T00:00:00Z", "2019-06-24T00:00:00Z",
		"2019-09-11T00:00:00Z", "2019-09-13T00:00:00Z", "2019-11-10T00:00:00Z", "2020-03-10T00:00:00Z",
		"2020-03-15T00:00:00Z", "2020-04-29T00:00:00Z", "2020-04-29T01:00:00Z", "2020-05-12T00:00:00Z",
		"2020-08-02T00:00:00Z", "2020-09-03T00:00:00Z", "2020-09-04T00:00:00Z", "2020-09-07T00:00:00Z",
		"2020-10-15T00:00:00Z", "2021-10-02T00:00:00Z", "2022-08-29T00:00:00Z", "2023-05-05T00:00:00Z",
		"2023-11-08T00:00:00Z", "2024-10-15T00:00:00Z", "2025-01-22T00:00:00Z",
	}
}

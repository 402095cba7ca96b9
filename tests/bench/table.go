package bench

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

const legend = `
  reads beside those of watch, floor in brackets         watch: the shared watcher's, and looks for what became of a change
  writes and PENDING cycles: counted [floor]             peer: cloud-provider-openstack, requests [writes]
  KiB: of all bodies                                     allocs, MiB: of controller and simulated cloud together (* controller alone, CPU s: its seconds)
  s: of the simulated clock [the cloud's own limit: its quota row and its work]

`

// printTable prints all rows, and the requests of those that are above their floor.
func printTable(out io.Writer, rows []Row) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "case\tprovider\tports\tnodes\tservices\treads\twatch\twrites\tcycles\tpeer\tKiB\tallocs\tMiB\tCPU s\ts\t")
	for _, r := range rows {
		fmt.Fprintln(table, strings.Join(r.columns(), "\t")+"\t")
	}
	_ = table.Flush() // standard output is all there is
	fmt.Fprint(out, legend)
	for _, r := range rows {
		if r.Error != "" || r.above() {
			r.printLog(out)
		}
	}
}

func (r Row) columns() []string {
	provider := r.Provider
	if r.Monitors {
		provider += "+monitors"
	}
	if r.KubeProxy {
		provider += "@kube-proxy"
	}
	services := strconv.Itoa(r.Services)
	if r.Services > 1 {
		services += fmt.Sprintf(" by %d", r.Workers)
	}
	mib := fmt.Sprintf("%.0f", r.RSSMiB)
	if r.Alone {
		mib = "*" + mib
	}
	cpu := ""
	if r.Alone {
		cpu = fmt.Sprintf("%.1f", r.CPUSeconds)
	}
	seconds := fmt.Sprintf("%.1f [%.1f]", r.Seconds, r.Floor.Seconds)
	if r.Units > 0 {
		seconds += fmt.Sprintf(" x%.2f", r.Units)
	}
	return []string{
		r.mark() + r.Case, provider, strconv.Itoa(r.Ports), strconv.Itoa(r.Nodes), services,
		beside(r.Reads, r.Floor.Reads), strconv.Itoa(r.WatchReads), beside(r.Writes, r.Floor.Writes), beside(r.Cycles, r.Floor.Cycles),
		r.Peer.String(), strconv.Itoa(r.Bytes / 1024), strconv.FormatUint(r.Allocs, 10), mib, cpu, seconds,
	}
}

// mark returns the prefix of a row: "!" if it failed, ">" if it is above its floor.
func (r Row) mark() string {
	switch {
	case r.Error != "":
		return "! "
	case r.above():
		return "> "
	}
	return "  "
}

// above reports whether a row is above its floor.
func (r Row) above() bool {
	return r.Reads > r.Floor.Reads || r.Writes > r.Floor.Writes || r.Cycles > r.Floor.Cycles
}

func beside(counted, floor int) string { return fmt.Sprintf("%d [%d]", counted, floor) }

// String implements fmt.Stringer.
func (p *Peer) String() string {
	if p == nil {
		return "-"
	}
	return beside(p.Requests, p.Writes)
}

func (r Row) printLog(out io.Writer) {
	fmt.Fprintf(out, "%s: %s, %d ports, %d nodes, %d services by %d\n", r.Case, r.Provider, r.Ports, r.Nodes, r.Services, r.Workers)
	if r.Error != "" {
		fmt.Fprintf(out, "  failed: %s\n", r.Error)
	}
	for _, line := range slices.Sorted(maps.Keys(r.Requests)) {
		fmt.Fprintf(out, "  %6d  %s\n", r.Requests[line], line)
	}
}

// Checks a dashboard against the schema of Grafana: unknown and missing fields and wrong types in panels, queries and
// variables. Prints one line for each fault.
package main

import (
	"fmt"
	"os"

	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

func main() {
	plugins.RegisterDefaultPlugins()
	text, err := os.ReadFile(os.Args[1])
	check(err)
	var read dashboard.Dashboard
	check(read.UnmarshalJSONStrict(text))
	check(read.Validate())
	fmt.Printf("dashboard: %d panels in Grafana's form\n", len(read.Panels))
}

// Ends the program with the faults. The library returns an empty error if it finds none.
func check(err error) {
	if err != nil && err.Error() != "" {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Program etcd is the server of etcd. `go install` refuses the server's own module because of its replace directives.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }

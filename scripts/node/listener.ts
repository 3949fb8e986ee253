import { createServer } from 'node:net'

/** Runs in the node's network: creates a listening socket there and passes it to the parent process. */
const [address = '', port = ''] = process.argv.slice(2)
const server = createServer()
server.listen(Number(port), address, () => process.send?.('listening', server, () => process.exit(0)))

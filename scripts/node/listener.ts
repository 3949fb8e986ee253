import { createServer } from 'node:net'

/** Runs in the network of a node: makes a socket that listens there, and hands it to who started it. */
const [address = '', port = ''] = process.argv.slice(2)
const server = createServer()
server.listen(Number(port), address, () => process.send?.('listening', server, () => process.exit(0)))

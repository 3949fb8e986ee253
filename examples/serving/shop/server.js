const { createServer } = require('node:http')

const greeting = 'Hello from the shop'
createServer((_request, response) => response.end(`${greeting}\n`)).listen(process.env.PORT)

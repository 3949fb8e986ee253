const { createServer } = require('node:http')
const { Pool } = require('pg')

// The platform fills it with the connection string of the database, and starts the app anew when it changes.
const url = new URL(process.env.DATABASE_URL)
// As PostgreSQL's own clients read sslmode=require: encrypted, whoever signed the certificate.
url.searchParams.set('uselibpqcompat', 'true')
const pool = new Pool({ connectionString: url.href })

async function answer(request, response) {
  if (request.method === 'POST')
    await pool.query('INSERT INTO notes (text) VALUES ($1)', [(await bodyOf(request)).slice(0, 200)])
  const { rows } = await pool.query('SELECT text FROM notes ORDER BY id')
  response.end(rows.map(({ text }) => `${text}\n`).join(''))
}

async function bodyOf(request) {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

async function serve() {
  await pool.query('CREATE TABLE IF NOT EXISTS notes (id SERIAL PRIMARY KEY, text VARCHAR(200))')
  createServer((request, response) => {
    answer(request, response).catch((error) => {
      console.error(error)
      response.writeHead(500).end('The database did not answer.\n')
    })
  }).listen(process.env.PORT)
}

serve().catch((error) => {
  console.error(error)
  process.exit(1)
})

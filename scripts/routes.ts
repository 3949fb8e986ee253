import { ADDITIONS, AREAS } from '../src/api/index.ts'
import { ownWords } from './commandLine.ts'

ownWords('Usage: npm run routes\nCounts the routes of the interface, area by area.', {})
const rows = AREAS.map(({ name, routes }) => ({
  name,
  count: routes.length,
}))
const width = Math.max(...rows.map(({ name }) => name.length))
const all = rows.reduce((total, { count }) => total + count, 0)
for (const { name, count } of [...rows, { name: 'all', count: all }, { name: 'additions', count: ADDITIONS.length }])
  console.log(`${name.padEnd(width)}  ${String(count).padStart(3)}`)

import { ADDITIONS, AREAS } from '../src/api/index.ts'
import { ownWords } from './commandLine.ts'

ownWords('Usage: npm run routes\nShows how many routes of the interface are built, area by area.', {})
const rows = AREAS.map(({ name, routes }) => ({
  name,
  all: routes.length,
  built: routes.filter((route) => route.isBuilt).length,
}))
const width = Math.max(...rows.map(({ name }) => name.length))
for (const { name, all, built } of rows) {
  console.log(`${name.padEnd(width)}  ${String(built).padStart(3)} of ${String(all).padStart(3)}`)
}
const sum = (key: 'all' | 'built') => rows.reduce((total, row) => total + row[key], 0)
console.log(`${'all'.padEnd(width)}  ${String(sum('built')).padStart(3)} of ${String(sum('all')).padStart(3)}`)
console.log(`${'additions'.padEnd(width)}  ${String(ADDITIONS.length).padStart(3)}`)

/** Measurements in a SQLite file, the same ones for the same number: forty months of six stations, a few of them off. */
import { DatabaseSync } from 'node:sqlite'

const STATIONS = ['arnold', 'bergen', 'calais', 'dover', 'emden', 'fanoe']
/** The first month, and how many there are. */
const FIRST_YEAR = 2022
export const MONTHS = 40

/** Writes the file. @param rows how many measurements. */
export function makeData(file: string, rows: number): void {
  const db = new DatabaseSync(file)
  db.exec(`CREATE TABLE measurements (
    station TEXT NOT NULL, month TEXT NOT NULL, value REAL NOT NULL
  ) STRICT`)
  const insert = db.prepare('INSERT INTO measurements VALUES (?, ?, ?)')
  const random = createRandom(20_220_101)
  db.exec('BEGIN')
  for (let row = 0; row < rows; row += 1) {
    const month = row % MONTHS
    const season = 8 * Math.sin((2 * Math.PI * month) / 12)
    const noise = random() + random() + random() - 1.5
    const isOff = random() < 0.001
    const value = 10 + season + 4 * noise + (isOff ? 90 : 0)
    insert.run(STATIONS[row % STATIONS.length] ?? '', monthOf(month), Number(value.toFixed(3)))
  }
  db.exec('COMMIT')
  db.exec('CREATE INDEX by_month ON measurements (month, value)')
  db.close()
}

function monthOf(index: number): string {
  const month = String((index % 12) + 1).padStart(2, '0')
  return `${FIRST_YEAR + Math.floor(index / 12)}-${month}`
}

/** Park and Miller's minimal generator: the same numbers everywhere. */
function createRandom(seed: number): () => number {
  let state = seed % 2_147_483_647
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
}

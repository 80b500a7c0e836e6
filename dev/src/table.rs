//! Plain aligned tables for a terminal.

/// The rows, each column as wide as its widest cell, two spaces apart.
#[must_use]
pub fn render(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        format!("  {}", cells.collect::<Vec<_>>().join("  ")).trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_lines_have_no_trailing_space() {
        let rows = [vec!["HTTP", "up"], vec!["PostgreSQL", ""]];
        let rows = rows.map(|row| row.into_iter().map(str::to_owned).collect());
        assert_eq!(render(&rows), "  HTTP        up\n  PostgreSQL");
    }
}
